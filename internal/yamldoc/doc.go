// Package yamldoc reads YAML and JSON texts strictly, as trees whose values
// know their place.
//
// [ReadDocument] reads a text that stands alone. A configuration of several
// files reads each into a [Source], walks the tree of [Value] and gathers what
// is wrong in a [Collector]. Either way the error is [Faults]: each with file,
// line, column, what was expected, and the source line with a caret. [Suggest]
// finds the name that a misspelt word probably means.
//
// The package promises strictness: an anchor, an alias, a tag, a second
// document, a byte that is not UTF-8, a character that a reader of the file
// cannot see, or a text that the YAML library did not read as it stands is a
// fault, and size and nesting are bounded. It opens no file and knows no key.
package yamldoc
