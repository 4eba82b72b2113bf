// Package config reads sallyport.yaml: what an operator allows, as data with
// positions.
//
// [Load] reads the files of a configuration with package yamldoc and returns a
// [Config], or yamldoc.Faults that list everything that is wrong in all of
// them. Nothing is half loaded. The keys are rows of one table, which the
// reference page prints.
//
// The keys inside an action or a server are checked by the package that makes
// tools of it: a [Part] has the text as JSON and places the faults. [Fingerprint]
// tells a server when to load again.
//
// The package promises strictness: an unknown or duplicate key, a wrong type,
// a dangling name, an anchor, a second document or a byte that is not UTF-8
// is a fault, and a key whose feature is not built is refused by name. It
// reads nothing but the given files and [Options]; it does not look whether
// a folder exists, whether a tool is registered or whether a secret is set.
package config
