package sallyport

// Effect is one thing that a call of a tool does beside its answer: "read" when it
// only reads; "revocable" when what it changes can be changed back, "irrevocable" when
// not, such as a message that was sent; "outward" when it carries something to others;
// "spending" when it spends money or the like.
type Effect string

// ValueKind says what the text of an argument names, and so when two texts are the
// same: "mail", "host", "url", "account" (such as an IBAN), "path", "user" (an id),
// "name" (of a person, place, channel or company), or "text" for any text.
type ValueKind string
