/** What tools give, as the gateway reads it, and what the gateway gives, as a model reads it. */
/** A result as the gateway reads it. What is no JSON is read as its text. */
export function asJson(result) {
    try {
        return JSON.stringify(result) === undefined ? String(result) : result;
    }
    catch {
        return String(result);
    }
}
/** What an error says. One that cannot say it says nothing. */
export function told(error) {
    try {
        return asJson(error instanceof Error ? error.message : error);
    }
    catch {
        return "";
    }
}
/** What the agent may see, in one text. */
export function asText(seen) {
    return typeof seen === "string" ? seen : JSON.stringify(seen);
}
