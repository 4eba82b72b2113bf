package sallyport

import (
	"context"
	"encoding/json"
)

// InputKind says who answers a [Question].
type InputKind string

// The kinds of input.
const (
	// InputPerson is the person behind the caller, who fills in a form.
	InputPerson InputKind = "person"
	// InputModel is the caller's model, which continues a text.
	InputModel InputKind = "model"
	// InputFolders is the list of folders that the caller works in.
	InputFolders InputKind = "folders"
)

// Valid reports whether k is one of the kinds.
func (k InputKind) Valid() bool {
	switch k {
	case InputPerson, InputModel, InputFolders:
		return true
	default:
		return false
	}
}

// Bounds of what one call may ask.
const (
	// MaxQuestions is how many questions one Ask may put.
	MaxQuestions = 8
	// MaxAsks is how often one call may ask.
	MaxAsks = 16
)

// Input is the way to whoever called: a tool asks, and its run goes on with
// the answers. The time that a call waits for them does not count against its
// time-out. It is safe for concurrent use.
type Input interface {
	// Can reports whether a question of this kind can be put to this caller.
	Can(kind InputKind) bool
	// Ask puts questions, all at once, and returns an answer for each, in
	// their order. It is an error when one cannot be put or is not answered,
	// and when the call ends before. What comes back is the caller's word,
	// like an argument: that of a person is held to the question's schema.
	// Where the caller may not call any more, or may do something else by now,
	// the error has CodePermissionDenied and the call ends.
	Ask(ctx context.Context, questions ...Question) ([]Answer, error)
}

// Question is what a tool asks of whoever called. Its texts are cleaned like
// results. Never ask for a password or a key: name a secret in the declaration.
type Question struct {
	// Name identifies the question among those that are put together; it
	// matches [a-zA-Z0-9_-]{1,64}.
	Name string
	// Kind says who answers.
	Kind InputKind
	// Message is what the person reads, or what the model continues. It is
	// empty for InputFolders.
	Message string
	// Schema is the form for InputPerson: an object whose properties are
	// texts, numbers, truth values or choices of texts. Nil asks only whether
	// the person agrees.
	Schema json.RawMessage
	// System is the system prompt for InputModel; it may be empty.
	System string
	// MaxTokens bounds the model's answer; 0 means 1,000.
	MaxTokens int
}

// Action is what a person did with a form.
type Action string

// The actions. What is not a person always accepts.
const (
	// ActionAccept sent the form.
	ActionAccept Action = "accept"
	// ActionDecline said no.
	ActionDecline Action = "decline"
	// ActionCancel closed the form without an answer.
	ActionCancel Action = "cancel"
)

// Answer is what came back for a [Question].
type Answer struct {
	// Action says whether there is anything; the other fields are empty
	// unless it is ActionAccept.
	Action Action
	// Values is what the person filled in, defaults included. Numbers are
	// [json.Number].
	Values map[string]any
	// Text is what the model said.
	Text string
	// Model is the name of the model; it may be empty.
	Model string
	// Folders is the list of folders.
	Folders []Folder
}

// Folder is one that the caller works in, by its own account: the grant of a
// call does not widen by it.
type Folder struct {
	// URI identifies it, mostly as file:///path.
	URI string
	// Name is for display; it may be empty.
	Name string
}
