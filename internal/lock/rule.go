package lock

import (
	"cmp"
	"slices"
	"strings"
)

// Severity says how much a change can do before anybody looks at it.
type Severity string

// The severities, worst first.
const (
	// SeverityCritical runs other code, reaches further, or does more harm.
	SeverityCritical Severity = "critical"
	// SeverityHigh tells a model something else, or takes other arguments.
	SeverityHigh Severity = "high"
	// SeverityMedium may matter to a person or a client.
	SeverityMedium Severity = "medium"
	// SeverityLow takes something away.
	SeverityLow Severity = "low"
)

// rankWorstFirst orders severities, the worst first. What is not known is the worst.
func (s Severity) rankWorstFirst() int {
	return slices.Index([]Severity{SeverityCritical, SeverityHigh, SeverityMedium, SeverityLow}, s)
}

// AtLeast reports whether s is as bad as least, or worse.
func (s Severity) AtLeast(least Severity) bool { return s.rankWorstFirst() <= least.rankWorstFirst() }

// Rule names a kind of change. Names are stable.
type Rule string

// The rules, each with a row in ruleTable.
const (
	RuleServerAdded     Rule = "server-added"
	RuleTransport       Rule = "transport-changed"
	RuleCommand         Rule = "command-changed"
	RuleBinary          Rule = "binary-changed"
	RuleProgram         Rule = "program-changed"
	RuleDir             Rule = "cwd-changed"
	RulePackage         Rule = "package-changed"
	RuleURL             Rule = "url-changed"
	RuleReachGained     Rule = "reach-gained"
	RuleWriteGained     Rule = "write-gained"
	RuleLostReadOnly    Rule = "lost-read-only"
	RuleDestructive     Rule = "became-destructive"
	RuleConfusable      Rule = "name-confusable"
	RuleEnvGained       Rule = "env-gained"
	RuleStorage         Rule = "storage-changed"
	RuleIdentity        Rule = "identity-changed"
	RuleInstructions    Rule = "instructions-changed"
	RuleAdded           Rule = "added"
	RuleText            Rule = "text-changed"
	RuleHidden          Rule = "hidden-changed"
	RuleRequired        Rule = "argument-required"
	RuleArgument        Rule = "argument-added"
	RuleWidened         Rule = "input-widened"
	RuleInput           Rule = "input-changed"
	RuleOutput          Rule = "output-changed"
	RuleHintLost        Rule = "hint-lost"
	RuleField           Rule = "field-changed"
	RuleVersion         Rule = "version-changed"
	RuleNarrowed        Rule = "input-narrowed"
	RuleHintGained      Rule = "hint-gained"
	RuleIcons           Rule = "icons-changed"
	RuleMeta            Rule = "meta-changed"
	RuleCapabilityWords Rule = "capabilities-reworded"
	RuleReachLost       Rule = "reach-lost"
	RuleEnvLost         Rule = "env-lost"
	RuleRemoved         Rule = "removed"
	RuleServerRemoved   Rule = "server-removed"
)

// ruleRow is a row of the table of rules.
type ruleRow struct {
	rule     Rule
	severity Severity
	message  string
}

// ruleTable is the table that docs/guides/lock.md prints.
var ruleTable = [...]ruleRow{
	{RuleServerAdded, SeverityCritical, "a server is new"},
	{RuleTransport, SeverityCritical, "the server is reached another way"},
	{RuleCommand, SeverityCritical, "another command is run"},
	{RuleBinary, SeverityCritical, "another file is run, or its content changed"},
	{RuleProgram, SeverityCritical, "another script is run, or its content changed"},
	{RuleDir, SeverityCritical, "the server runs in another folder"},
	{RulePackage, SeverityCritical, "another package is installed, or its content changed"},
	{RuleURL, SeverityCritical, "the server is somewhere else"},
	{RuleReachGained, SeverityCritical, "the server may reach something new"},
	{RuleWriteGained, SeverityCritical, "the server may write, or execute, something new"},
	{RuleLostReadOnly, SeverityCritical, "the tool no longer says that it only reads"},
	{RuleDestructive, SeverityCritical, "the tool now says that it may destroy"},
	{RuleConfusable, SeverityCritical, "the name is now taken for another one"},
	{RuleEnvGained, SeverityHigh, "the server gets another environment variable"},
	{RuleStorage, SeverityHigh, "the server stores elsewhere or otherwise"},
	{RuleIdentity, SeverityHigh, "the server says something else about itself"},
	{RuleInstructions, SeverityHigh, "the text of the server for models changed"},
	{RuleAdded, SeverityHigh, "a definition is new"},
	{RuleText, SeverityHigh, "a text that models read changed"},
	{RuleHidden, SeverityHigh, "characters that are not shown changed"},
	{RuleRequired, SeverityHigh, "an argument is now required"},
	{RuleArgument, SeverityHigh, "an argument is new"},
	{RuleWidened, SeverityHigh, "the input schema admits more"},
	{RuleInput, SeverityHigh, "the input schema changed"},
	{RuleOutput, SeverityHigh, "the output schema changed"},
	{RuleHintLost, SeverityHigh, "the tool promises less: idempotence, or a closed world"},
	{RuleField, SeverityHigh, "a field changed that no other rule is about"},
	{RuleVersion, SeverityMedium, "the server says that it has another version"},
	{RuleNarrowed, SeverityMedium, "the input schema admits less"},
	{RuleHintGained, SeverityMedium, "the annotations are written otherwise, or promise more"},
	{RuleIcons, SeverityMedium, "the icons changed"},
	{RuleMeta, SeverityMedium, "_meta changed"},
	{RuleCapabilityWords, SeverityLow, "the capabilities are written otherwise and reach the same"},
	{RuleReachLost, SeverityLow, "the server may reach less"},
	{RuleEnvLost, SeverityLow, "the server gets an environment variable less"},
	{RuleRemoved, SeverityLow, "a definition is gone"},
	{RuleServerRemoved, SeverityLow, "a server is gone"},
}

// tableRow returns the row of a rule. A rule without a row would be a mistake of
// this package, and the worst is assumed.
func (r Rule) tableRow() ruleRow {
	for _, row := range ruleTable {
		if row.rule == r {
			return row
		}
	}
	return ruleRow{r, SeverityCritical, "something changed"}
}

// Change is one difference between what is pinned and what is.
type Change struct {
	// Server is the configured name of the server.
	Server string `json:"server"`
	// Kind says what Name names.
	Kind Kind `json:"kind"`
	// Name is the upstream name of a tool or prompt, the URI of a resource or
	// the template of one; empty for the server itself.
	Name string `json:"name,omitempty"`
	// Field is the place in the definition or launch: names joined by "/".
	// Empty for the whole.
	Field string `json:"field,omitempty"`
	// Rule names the kind of change.
	Rule Rule `json:"rule"`
	// Severity is that of the rule.
	Severity Severity `json:"severity"`
	// Was is the pinned value as JSON text, cleaned; of a long one what
	// differs, up to 2,000 characters. Empty when there was none.
	Was string `json:"was,omitempty"`
	// Is is the present value in the same form.
	Is string `json:"is,omitempty"`
	// Cut says that something of what differs is not shown: who approves it
	// looks at the definition itself.
	Cut bool `json:"cut,omitempty"`
	// Message says in a sentence what changed.
	Message string `json:"message"`
}

// compareChanges puts the worst first.
func compareChanges(a, b Change) int {
	return cmp.Or(
		cmp.Compare(a.Severity.rankWorstFirst(), b.Severity.rankWorstFirst()),
		strings.Compare(a.Server, b.Server), strings.Compare(string(a.Kind), string(b.Kind)),
		strings.Compare(a.Name, b.Name), strings.Compare(a.Field, b.Field),
		strings.Compare(string(a.Rule), string(b.Rule)), strings.Compare(a.Is, b.Is), strings.Compare(a.Was, b.Was),
	)
}
