import type { ReactNode } from 'react';

export const metadata = { title: 'Example shop' };

export default function Layout({ children }: { children: ReactNode }) {
  return (
    <html lang="en">
      <body>
        <h1>Example shop</h1>
        {children}
      </body>
    </html>
  );
}
