// Package tomledit reads TOML as programs keep their settings in it, and
// replaces tables in it so that every other byte stays.
//
// Start with [Parse]. [Document.Put] writes one table in the place of others,
// and [Document.Restore] brings those back from an older text. Each edit is
// read again and compared: a result that says anything else beside the tables
// that were named is refused, and so is a form in which they cannot be edited.
//
// The syntax is read by github.com/pelletier/go-toml. What is here is the tree
// with the places of its values, and the lines that belong to a table.
package tomledit
