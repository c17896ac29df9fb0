// The front desk of a holiday let: its tools, and what a model is scripted to do with them. The same as desk.py.

export const GUEST = "ada.lovelace@example.org";

/** What the tools really did. */
export const done = [];

const did = (what, result) => {
  done.push(what);
  return result;
};

export const tools = {
  web_search: ({ query }) => did(`web_search ${query}`, "Sunny until Sunday."),
  booking_lookup: ({ booking }) =>
    did(`booking_lookup ${booking}`, {
      guest: { name: "Ada Lovelace", email: GUEST },
      dates: { from: "2027-05-03", to: "2027-05-09" },
    }),
  ledger_export: ({ year }) =>
    did(`ledger_export ${year}`, { months: [1, 2, 3].map((month) => ({ month, profit: 1000 + month })) }),
  send_mail: ({ to }) => did(`send_mail to ${to}`, "sent"),
  search_email: ({ query }) => did(`search_email ${query}`, "The key box is behind the third shutter."),
};

/** The calls that the scripted model makes, one after the other. The last one comes too late. */
export const script = [
  ["web_search", { query: "weather" }],
  ["booking_lookup", { booking: "B-17" }],
  ["ledger_export", { year: "2026" }],
  ["send_mail", { to: "{GUEST_EMAIL_1}", text: "See you soon." }],
  ["search_email", { query: "key box" }],
  ["web_search", { query: "third shutter" }],
];

/** What it would do first if it did not plan. */
export const hastyPlan = ["search_email", "web_search"];

/** Prints what the model is given. */
export function show(tool, seen) {
  console.log(`the model sees of ${tool}: ${typeof seen === "string" ? seen : JSON.stringify(seen)}`);
}

/** Prints what really happened. */
export function finish() {
  for (const each of done) {
    console.log(`really done: ${each}`);
  }
}
