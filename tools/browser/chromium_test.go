package browser

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/tools/browser/internal/wire"
)

// scriptedBrowser is a process accessor whose child answers every command, and opens a tab.
type scriptedBrowser struct {
	sallyport.Process
	t      *testing.T
	child  idleChild
	output io.Writer
}

// confinedChild is an idle child that is held to its grant.
type confinedChild struct{ idleChild }

func (confinedChild) Level() sallyport.Level { return sallyport.LevelFull }

func (p *scriptedBrowser) Start(_ context.Context, _ string, _ []string, o *sallyport.SpawnOptions) (sallyport.Child, error) {
	p.output = o.Output
	go func() {
		command := make([]byte, 64<<10)
		for {
			n, err := o.Input.Read(command)
			if err != nil {
				return
			}
			p.answerCommands(command[:n])
		}
	}()
	return confinedChild{p.child}, nil
}

func (p *scriptedBrowser) answerCommands(commands []byte) {
	for len(commands) > 0 {
		n, err := wire.MessageLen(commands)
		if err != nil {
			p.t.Errorf("the command %x: %v", commands, err)
			return
		}
		said, err := readMembers(wire.Value(commands[:n]), "id", "method")
		if err != nil {
			p.t.Errorf("the command %x: %v", commands[:n], err)
			return
		}
		commands = commands[n:]
		id, _ := said[0].JSON(100)
		_, _ = p.output.Write(messageOf(p.t, `{"id":`+string(id)+`,"result":{"targetId":"T"}}`))
		if method, _ := said[1].Text(); method == "Target.createTarget" {
			_, _ = p.output.Write(messageOf(p.t, `{"method":"Target.attachedToTarget","params":{"sessionId":"S","targetInfo":{"targetId":"T","type":"page"}}}`))
		}
	}
}

// A browser that says what is no message is not used any more, and ended at once.
func TestABrowserThatCannotBeReadIsEnded(t *testing.T) {
	t.Parallel()
	p := &scriptedBrowser{t: t, child: idleChild{make(chan struct{})}}
	b, err := startChromium(t.Context(), &sallyport.Call{Process: p}, &patience{ping: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if b.isHung(t.Context()) {
		t.Error("the browser does not answer")
	}
	if _, err := p.output.Write([]byte("\x9f\xffgarbage")); err == nil {
		t.Error("the garbage was taken")
	}
	<-p.child.done
	if err := b.askBrowser(t.Context(), "", "A.b", nil, nil); err == nil || !strings.Contains(detailOf(err), "it has said what cannot be read") {
		t.Errorf("a question afterwards: %v", err)
	}
}
