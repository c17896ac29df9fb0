/** Arguments of calls: what is asked about is what the tool is given. */
import { ToolPermissionError } from "./errors.js";
/** How deep values may lie in each other; the gateway reads no deeper. It also ends arguments that hold themselves. */
const DEEPEST = 128;
/**
 * A copy of the arguments that is all of them, and that nobody else can change while the gateway or a person decides. Anything
 * that JSON does not hold (a `Map`, bytes, an object of a class) would reach the tool unread, so there is no call with it.
 */
export function copied(tool, args) {
    try {
        return copiedObject(args, DEEPEST);
    }
    catch {
        // What a member says when it cannot be read is not repeated.
        throw new ToolPermissionError({
            tool,
            rule: "arguments-unreadable",
            reason: `tool "${tool}" blocked: its arguments hold something that is no JSON`,
            remedy: "pass plain objects, lists, texts, finite numbers, true, false and null",
            retryable: true,
        });
    }
}
function copiedValue(value, deep) {
    if (value === null || typeof value === "string" || typeof value === "boolean" || Number.isFinite(value)) {
        return value;
    }
    if (deep === 0 || typeof value !== "object") {
        throw new TypeError("no JSON");
    }
    return Array.isArray(value) ? copiedList(value, deep) : copiedObject(value, deep);
}
function copiedList(list, deep) {
    if (Reflect.ownKeys(list).length !== list.length + 1) {
        throw new TypeError("a list with names in it, or with gaps");
    }
    return Array.from(list, (value) => copiedValue(value, deep - 1));
}
/** A member that is undefined is one that was not given. */
function copiedObject(object, deep) {
    const kind = Object.getPrototypeOf(object);
    if (kind !== null && Object.getPrototypeOf(kind) !== null) {
        throw new TypeError("an object of a kind of its own");
    }
    const members = [];
    for (const name of Reflect.ownKeys(object)) {
        if (typeof name === "symbol") {
            throw new TypeError("a name that is no text");
        }
        const value = Reflect.get(object, name);
        if (value !== undefined) {
            members.push([name, copiedValue(value, deep - 1)]);
        }
    }
    return Object.fromEntries(members);
}
