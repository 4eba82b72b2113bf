package attachments_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/registry"
	"github.com/sallyport/sallyport/store/attachments"
	"github.com/sallyport/sallyport/tools/file"
)

// A program lets a tool read a file of the person who uses it: it adds the file
// and lists it in the caller's turn. The tool reaches nothing else.
func ExampleNew() {
	ctx := context.Background()
	files, err := attachments.New(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer files.Close()
	report, err := files.Add("report.txt", strings.NewReader("Revenue rose by 4 %.\n"))
	if err != nil {
		log.Fatal(err)
	}

	gate, err := registry.New(&sallyport.Backends{Attachments: files, Files: &sallyport.FileBackend{}}, nil)
	if err != nil {
		log.Fatal(err)
	}
	if err := gate.Register(file.Tools()...); err != nil {
		log.Fatal(err)
	}
	caller := &sallyport.Caller{Principal: sallyport.Principal{Name: "me"}, Attachments: []sallyport.Attachment{report}}
	result := gate.Call(ctx, caller, sallyport.Request{Tool: "read_file", Args: []byte(`{}`)})
	fmt.Println(report.Kind, report.MediaType)
	fmt.Println(result.Value)
	// Output:
	// file text/plain; charset=utf-8
	// <untrusted source="unknown" tool="read_file">
	// [attachment report.txt] 1 line
	//
	// Revenue rose by 4 %.
	//
	// </untrusted>
}
