package scoped

import (
	"testing"

	"github.com/sallyport/sallyport"
)

func TestA5_OtherNamesOfGitAreGit(t *testing.T) {
	d := Floor(&sallyport.FileBackend{Home: "/home/a"})
	if _, denied := d.Check(opRead, "/ws/.\u017fsh/id"); !denied {
		t.Error("Check(read) of .\u017fsh = allowed, want it taken for .ssh")
	}
}
