/** What tools give, as the gateway reads it, and what the gateway gives, as a model reads it. */
/** A result as the gateway reads it. What is no JSON is read as its text. */
export declare function asJson(result: unknown): unknown;
/** What an error says. One that cannot say it says nothing. */
export declare function told(error: unknown): unknown;
/** What the agent may see, in one text. */
export declare function asText(seen: unknown): string;
