package sallyport

import (
	"context"
	"encoding/json"
)

// InputKind says where the answer to a [Question] comes from.
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

// Bounds of the questions in one call.
const (
	// MaxQuestions is the number of questions that one Ask may put.
	MaxQuestions = 8
	// MaxAsks is the number of times that one call may ask.
	MaxAsks = 16
)

// Input puts questions to the caller: a tool asks, and its run continues with
// the answers. The time that a call waits for answers does not count against
// its timeout. It is safe for concurrent use.
type Input interface {
	// Can reports whether a question of this kind can be put to this caller.
	Can(kind InputKind) bool
	// Ask puts all questions at once and returns an answer for each, in their
	// order. It returns an error when a question cannot be put, when a question
	// is not answered, or when the call ends first. An answer is the caller's
	// word, like an argument; that of a person has to satisfy the question's
	// schema. When the caller has lost the right to call, or its rights have
	// changed, the error has CodePermissionDenied and the call ends.
	Ask(ctx context.Context, questions ...Question) ([]Answer, error)
}

// Question is what a tool asks the caller. Its texts are cleaned like results.
// Never ask for a password or a key: name a secret in the declaration.
type Question struct {
	// Name identifies the question among those of one Ask; it matches
	// [a-zA-Z0-9_-]{1,64}.
	Name string
	// Kind says where the answer comes from.
	Kind InputKind
	// Message is what the person reads, or what the model continues. It is
	// empty for InputFolders.
	Message string
	// Schema is the form for InputPerson: an object whose properties are texts,
	// numbers, truth values or choices of texts. Nil asks only whether the
	// person agrees.
	Schema json.RawMessage
	// System is the system prompt for InputModel; it may be empty.
	System string
	// MaxTokens bounds the model's answer; 0 means 1,000.
	MaxTokens int
}

// Action is what a person did with a form.
type Action string

// The actions. The answer of a model and the list of folders always have
// ActionAccept.
const (
	// ActionAccept: the person sent the form.
	ActionAccept Action = "accept"
	// ActionDecline: the person refused.
	ActionDecline Action = "decline"
	// ActionCancel: the person closed the form without an answer.
	ActionCancel Action = "cancel"
)

// Answer is the answer to a [Question].
type Answer struct {
	// Action says whether there is an answer. The other fields are empty unless
	// it is ActionAccept.
	Action Action
	// Values holds what the person filled in, defaults included. Numbers are
	// [json.Number].
	Values map[string]any
	// Text is the text of the model.
	Text string
	// Model is the name of the model; it may be empty.
	Model string
	// Folders is the list of folders.
	Folders []Folder
}

// Folder is a folder in which the caller says that it works. It does not widen
// the grant of a call.
type Folder struct {
	// URI identifies it, mostly as file:///path.
	URI string
	// Name is for display; it may be empty.
	Name string
}
