/** A call that failed: an answer with an error status, or no answer at all. */
export class KithError extends Error {
  override readonly name = 'KithError';
  /** The HTTP status; 0 without an answer. */
  readonly status: number;
  /** The kind of the error, such as VALIDATION_FAILED; '' if the answer is not from Kith. */
  readonly apiErrorCode: string;
  /** The finer kind, or ''. */
  readonly rsCode: string;
  /** The id of the request in the logs of the service, or ''. A page of another origin cannot read it. */
  readonly requestId: string;
  /** How many seconds to wait before the next attempt; 0 if the service did not say. */
  readonly retryAfter: number;
  /** Whether the service has done this call before, with the same idempotency key. That is success: do not send the call again. */
  readonly duplicate: boolean;

  constructor(message: string, fields: Partial<Omit<KithError, 'name' | 'message'>> = {}) {
    super(message, { cause: fields.cause });
    this.status = fields.status ?? 0;
    this.apiErrorCode = fields.apiErrorCode ?? '';
    this.rsCode = fields.rsCode ?? '';
    this.requestId = fields.requestId ?? '';
    this.retryAfter = fields.retryAfter ?? 0;
    this.duplicate = fields.duplicate ?? false;
  }
}

/** Resolves to the result of a call, or to undefined if the service has done it before with the same idempotency key. */
export async function once<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof KithError && error.duplicate) return undefined;
    throw error;
  }
}
