package output

// PlainText is the first step of [Cleaner.Text] alone.
var PlainText = toPlainText
