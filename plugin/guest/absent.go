package guest

import (
	"context"

	"github.com/sallyport/sallyport"
)

// refuseOthers gives a call what no plugin gets.
func refuseOthers(c *sallyport.Call) {
	c.Process, c.Databases, c.Mail, c.Input = noProcess{}, noDatabases{}, noMail{}, noInput{}
}

// These accessors refuse: no plugin gets what they stand for.
type (
	noProcess   struct{}
	noDatabases struct{}
	noMail      struct{}
	noInput     struct{}
)

func (noProcess) Spawn(context.Context, string, []string, *sallyport.SpawnOptions) (r sallyport.ProcessResult, err error) {
	return r, newUnavailable("child processes")
}

func (noProcess) Start(context.Context, string, []string, *sallyport.SpawnOptions) (sallyport.Child, error) {
	return nil, newUnavailable("child processes")
}

func (noDatabases) Query(context.Context, string, string, []any) (t sallyport.Table, err error) {
	return t, newUnavailable("databases")
}

func (noMail) Send(context.Context, sallyport.Message) error { return newUnavailable("mail") }

func (noInput) Can(sallyport.InputKind) bool { return false }

func (noInput) Ask(context.Context, ...sallyport.Question) ([]sallyport.Answer, error) {
	return nil, newUnavailable("questions")
}
