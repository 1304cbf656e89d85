'use client';
/**
 * React components: a share link with a button that copies it, a widget, and an input for a referral code that fills
 * itself. They need a KithProvider around them.
 *
 * @module
 */
import {
  createContext, createElement, useCallback, useContext, useEffect, useRef, useState,
  type ComponentPropsWithoutRef, type ReactElement, type ReactNode,
} from 'react';

import type { Client, Input } from './index.js';

const Context = createContext<Client | null>(null);

/** Gives a client of @kith/client to the components in it. Create the client once, outside of the components. */
export function KithProvider({ client, children }: { client: Client; children?: ReactNode }): ReactElement {
  return createElement(Context.Provider, { value: client }, children);
}

/** Returns the client of the nearest KithProvider. */
export function useKith(): Client {
  const client = useContext(Context);
  if (!client) throw new Error('@kith/client/react: there is no KithProvider; put one around the component');
  return client;
}

/** A result of Kith: value and error are undefined until it is there. */
interface Loaded<T> {
  value?: T;
  error?: unknown;
}

/** Loads when the key changes, and drops what arrives later. */
function useLoaded<T>(key: string, load: (signal: AbortSignal) => Promise<T>): Loaded<T> {
  const client = useKith();
  const [loaded, setLoaded] = useState<Loaded<T> & { key?: string }>({});
  const latest = useRef(load);
  latest.current = load;
  useEffect(() => {
    const controller = new AbortController();
    latest.current(controller.signal).then(
      (value) => controller.signal.aborted || setLoaded({ key, value }),
      (error) => controller.signal.aborted || setLoaded({ key, error }),
    );
    return () => controller.abort();
  }, [key, client]);
  return loaded.key === key ? loaded : {};
}

/** Calls back once for each error. */
function useReport(error: unknown, report: ((error: unknown) => void) | undefined): void {
  const latest = useRef(report);
  latest.current = report;
  useEffect(() => {
    if (error !== undefined) latest.current?.(error);
  }, [error]);
}

/** The ids of a user. */
export interface UserIds {
  account: string;
  user: string;
}

type Urls = Input<'getShareUrls'>;

export interface ShareLinkProps extends UserIds {
  programId?: string;
  /** Where the user finds the link. Default: EMBED. */
  engagementMedium?: NonNullable<Urls['engagementMedium']>;
  /** How the link is shared. Default: DIRECT. */
  shareMedium?: NonNullable<Urls['shareMedium']>;
  className?: string;
  /** The name of the field for screen readers. Default: Your link. */
  label?: string;
  /** The texts of the button. Default: Copy, Copied. */
  copyLabel?: string;
  copiedLabel?: string;
  /** Shown instead of the link if it cannot be loaded. */
  errorText?: string;
  onError?: (error: unknown) => void;
  onCopy?: (link: string) => void;
}

/** Shows a user's share link in a field, with a button that copies it. A copied link is counted as shared. */
export function ShareLink(props: ShareLinkProps): ReactElement {
  const { account, user, programId, engagementMedium = 'EMBED', shareMedium = 'DIRECT', onCopy } = props;
  const client = useKith();
  const field = useRef<HTMLInputElement>(null);
  const [copied, setCopied] = useState(0);
  const key = JSON.stringify([account, user, programId, engagementMedium, shareMedium]);
  const { value: link = '', error } = useLoaded(key, async (signal) => {
    const urls = await client.getShareUrls({ account, user, programId, engagementMedium, shareMedium }, { signal });
    return urls.shareLinks[engagementMedium]?.[shareMedium] ?? urls.shareLinks.cleanShareLink;
  });
  useReport(error, props.onError);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(0), 2000);
    return () => clearTimeout(timer);
  }, [copied]);

  const copy = useCallback(async () => {
    if (!field.current || !(await copyText(link, field.current))) return;
    setCopied((n) => n + 1);
    onCopy?.(link);
    client.countWidgetShare({ externalAccountId: account, externalUserId: user, engagementMedium, shareMedium, programId }).catch(() => {});
  }, [client, link, account, user, programId, engagementMedium, shareMedium, onCopy]);

  if (error !== undefined) {
    return createElement('p', { className: props.className, role: 'alert' }, props.errorText ?? 'Your link cannot be loaded now.');
  }
  return createElement(
    'div',
    { className: props.className },
    createElement('input', {
      ref: field, readOnly: true, value: link, spellCheck: false, 'aria-label': props.label ?? 'Your link',
      onFocus: () => field.current?.select(),
    }),
    createElement('button', { type: 'button', onClick: copy, disabled: !link, 'aria-live': 'polite' },
      copied ? (props.copiedLabel ?? 'Copied') : (props.copyLabel ?? 'Copy')),
  );
}

/** Copies a text; on pages without https, which have no clipboard, from the field. */
async function copyText(text: string, field: HTMLInputElement): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    field.select();
    return document.execCommand('copy');
  }
}

type Rendered = Input<'renderWidget'>;

export interface WidgetProps extends UserIds {
  /** The widget, such as p/classic/w/referrerWidget. Default: the referrer widget of the first program. */
  widgetType?: NonNullable<Rendered['widgetType']>;
  /** Where the widget is shown. Default: EMBED. */
  engagementMedium?: NonNullable<Rendered['engagementMedium']>;
  /** The language, such as en_US. */
  locale?: string;
  /** The name of the frame for screen readers. Default: Refer a friend. */
  title?: string;
  className?: string;
  /** Shown instead of the widget if it cannot be loaded. */
  errorText?: string;
  onError?: (error: unknown) => void;
}

/** Shows a user's widget in a frame that is as high as its content. A shown widget is counted. */
export function Widget(props: WidgetProps): ReactElement {
  const { account, user, widgetType, engagementMedium = 'EMBED', locale } = props;
  const client = useKith();
  const frame = useRef<HTMLIFrameElement>(null);
  const observer = useRef<ResizeObserver | null>(null);
  const [height, setHeight] = useState(0);
  const key = JSON.stringify([account, user, widgetType, engagementMedium, locale]);
  const { value: template, error } = useLoaded(key, async (signal) =>
    (await client.renderWidget({ account, user, widgetType, engagementMedium, locale }, { signal })).template);
  useReport(error, props.onError);
  useEffect(() => {
    if (template === undefined) return;
    const programId = /^p\/([^/]+)\//.exec(widgetType ?? '')?.[1];
    client.countWidgetLoad({ externalAccountId: account, externalUserId: user, engagementMedium, programId }).catch(() => {});
    return () => observer.current?.disconnect();
  }, [template]);

  const measure = useCallback(() => {
    observer.current?.disconnect();
    const body = frame.current?.contentDocument?.body;
    if (!body) return;
    observer.current = new ResizeObserver(() => setHeight(Math.min(Math.ceil(body.getBoundingClientRect().height), 10_000)));
    observer.current.observe(body);
  }, []);

  if (error !== undefined) {
    return createElement('p', { className: props.className, role: 'alert' }, props.errorText ?? 'This cannot be shown now.');
  }
  return createElement('iframe', {
    ref: frame, title: props.title ?? 'Refer a friend', className: props.className, srcDoc: template ?? '', onLoad: measure,
    allow: 'clipboard-write; web-share', style: { width: '100%', border: 0, height },
  });
}

/** Returns the referral code with which the visitor came, '' without one, and undefined until that is known. */
export function useReferralCode(): string | undefined {
  const client = useKith();
  return useLoaded('', (signal) => client.referralCode({ signal })).value;
}

export interface ReferralCodeInputProps extends ComponentPropsWithoutRef<'input'> {
  /** Called with the visitor's code, or with '', when it is known. */
  onCode?: (code: string) => void;
}

/**
 * An input that fills in the visitor's referral code, as if it were typed: onChange is called. It may be controlled or
 * not. A text that is in the input, or that the visitor typed, stays.
 */
export function ReferralCodeInput({ onCode, onInput, ...rest }: ReferralCodeInputProps): ReactElement {
  const code = useReferralCode();
  const input = useRef<HTMLInputElement>(null);
  const typed = useRef(false);
  const report = useRef(onCode);
  report.current = onCode;
  useEffect(() => {
    if (code === undefined) return;
    report.current?.(code);
    if (code && input.current && !typed.current && !input.current.value) type(input.current, code);
  }, [code]);
  return createElement('input', {
    autoComplete: 'off', ...rest, ref: input,
    onInput: (event: Parameters<NonNullable<ReferralCodeInputProps['onInput']>>[0]) => {
      typed.current ||= event.nativeEvent.isTrusted;
      onInput?.(event);
    },
  });
}

/** Sets a value as typing does: React hides the property of its inputs behind one of its own. */
function type(input: HTMLInputElement, value: string): void {
  Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value')!.set!.call(input, value);
  input.dispatchEvent(new Event('input', { bubbles: true }));
}
