package output

// Plain is the first step of [Cleaner.Text] alone.
var Plain = toPlainText
