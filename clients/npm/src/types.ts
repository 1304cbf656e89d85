import type { operations } from './generated/schema.js';

/** The name of an operation, as in the OpenAPI document. */
export type OperationName = keyof operations;

type Flat<T> = { [Key in keyof T]: T[Key] };

/** The parameters of a kind, or no keys. */
type Parameters<Name extends OperationName, Kind extends 'path' | 'query'> =
  NonNullable<operations[Name]['parameters'][Kind]> extends infer Found ? ([Found] extends [never] ? unknown : Found) : never;

type Body<Name extends OperationName> = operations[Name] extends { requestBody: { content: { 'application/json': infer Content } } }
  ? { body: Content }
  : operations[Name] extends { requestBody?: { content: { 'application/json': infer Content } } }
    ? { body?: Content }
    : unknown;

/** What an operation takes: the parameters of path and query, without the tenant, and the body. */
export type Input<Name extends OperationName> = Flat<Omit<Parameters<Name, 'path'>, 'tenant'> & Parameters<Name, 'query'> & Body<Name>>;

type Success<Responses> = Responses[keyof Responses];

/** What an operation answers. */
export type Output<Name extends OperationName> =
  Success<operations[Name]['responses']> extends { content: { 'application/json': infer Content } } ? Content : void;

/** Operations as methods. */
export type Methods<Names extends OperationName, Options> = {
  [Name in Names]: {} extends Input<Name>
    ? (input?: Input<Name>, options?: Options) => Promise<Output<Name>>
    : (input: Input<Name>, options?: Options) => Promise<Output<Name>>;
};
