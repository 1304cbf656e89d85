/** Headers of a request, as node:http or the Fetch API give them. */
export type RequestHeaders = Headers | Record<string, string | string[] | undefined>;

/** The value of a header; '' if there is none. */
export function header(headers: RequestHeaders, name: string): string {
  const value = headers instanceof Headers ? headers.get(name) : (headers[name] ?? headers[name.toLowerCase()]);
  return Array.isArray(value) ? value.join('; ') : (value ?? '');
}
