// The frame of all pages, and a template tag that escapes what is inserted.
const escapes = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

class Html extends String {}

/** A piece of a page. Texts that are inserted are escaped, other pieces are not. */
export function html(parts, ...values) {
  const text = (value) => {
    if (Array.isArray(value)) return value.map(text).join('');
    return value instanceof Html ? String(value) : String(value).replace(/[&<>"]/g, (c) => escapes[c]);
  };
  return new Html(String.raw({ raw: parts }, ...values.map(text)));
}

export const page = (content) => String(html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Example shop</title>
<style>
  body { font: 16px/1.5 system-ui, sans-serif; max-width: 32rem; margin: 3rem auto; padding: 0 1rem; color: #222; overflow-wrap: anywhere; }
  label { display: block; margin-bottom: 1rem; }
  iframe { width: 100%; height: 32rem; border: 0; }
</style>
</head>
<body>
<h1>Example shop</h1>
${content}
</body>
</html>
`);
