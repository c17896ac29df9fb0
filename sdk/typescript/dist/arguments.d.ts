/** The arguments of a call, by name. */
export type Arguments = Record<string, unknown>;
/**
 * A copy of the arguments that is all of them, and that nobody else can change while the gateway or a person decides. Anything
 * that JSON does not hold (a `Map`, bytes, an object of a class) would reach the tool unread, so there is no call with it.
 */
export declare function copied(tool: string, args: object): Arguments;
