package app

import (
	"slices"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/tools/database"
	"github.com/sallyport/sallyport/tools/mail"
)

func TestUnconnectedToolsAreThoseThatNeedAConnection(t *testing.T) {
	t.Parallel()
	want := []string{
		database.Tool(nil, sallyport.ModeRead).Name, database.Tool(nil, sallyport.ModeWrite).Name,
		mail.Tool(sallyport.MailCapability{}).Name,
	}
	if got := UnconnectedTools(); !slices.Equal(got, want) {
		t.Errorf("UnconnectedTools = %q, want %q", got, want)
	}
}
