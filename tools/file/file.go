// Package file holds the tools that read, write, change, search and list
// files. [Tools] returns them for a registry.
//
// Every tool reaches files through the accessor of its call and nothing else:
// what it may touch is decided by the grant, the always-deny floor and the
// stale-write memory behind that accessor. The tools add what an agent needs
// on top: line ranges, encodings, diagnoses that say how to go on, and bounds
// on time and size that are reported instead of hidden.
//
// The package does not watch files, does not run programs, and does not
// follow symbolic links when it searches or lists.
package file

import (
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/schema"
	"github.com/sallyport/sallyport/tools/internal/args"
)

const toolset = "file"

// walkTimeout bounds the tools that look at many files.
const walkTimeout = time.Minute

// Tools returns read_file, write_file, patch_file, search_files, list_files and
// file-read. The caller owns the slice; the tools may be used by many calls
// at once.
func Tools() []sallyport.Tool {
	return []sallyport.Tool{readFile(), writeFile(), patchFile(), searchFilesTool(), listFiles(), fileRead()}
}

// readCapabilities returns the declaration of a tool that only reads.
func readCapabilities() sallyport.Capabilities {
	return sallyport.Capabilities{FSReach: &sallyport.FSCapability{Read: sallyport.FromPersonality()}}
}

// writeCapabilities returns the declaration of a tool that reads and writes.
func writeCapabilities() sallyport.Capabilities {
	return sallyport.Capabilities{FSReach: &sallyport.FSCapability{
		Read: sallyport.FromPersonality(), Write: sallyport.FromPersonality(),
	}}
}

func readFile() sallyport.Tool {
	caps := readCapabilities()
	caps.Attachments = &sallyport.AttachmentsCapability{
		Kinds: []sallyport.AttachmentKind{sallyport.KindImage, sallyport.KindFile},
	}
	return schema.MustTool(sallyport.Tool{
		Name: "read_file", Title: "Read file", Toolset: toolset,
		Description: "Read a file, or a file that the user attached. Returns the exact content below a header line with the path and " +
			"the number of lines. A long file is cut; continue with start_line. A picture is shown.",
		Schema: args.Schema[readInput](func(get func(string) args.Property) {
			get("path").Length(1, 0)
			get("ref").Length(1, 0).Format("attachment")
			get("start_line").Min(0)
			get("end_line").Min(0)
			get("encoding").OneOf(readEncodings()...)
		}),
		Touches:      []sallyport.Touch{{Capability: "fs_reach.read", Argument: "path"}},
		Capabilities: caps, MaxResultChars: readChars, ReadOnly: true, OutputIsUntrusted: true,
	}, readPassage)
}

func writeFile() sallyport.Tool {
	return schema.MustTool(sallyport.Tool{
		Name: "write_file", Title: "Write file", Toolset: toolset,
		Description: "Create a file or replace its whole content, creating missing folders. To change a part of a file use patch_file.",
		Schema: args.Schema[writeInput](func(get func(string) args.Property) {
			get("path").Length(1, 0)
			get("encoding").OneOf(encodingUTF8, encodingBase64)
		}),
		Capabilities: writeCapabilities(), Touches: []sallyport.Touch{{Capability: "fs_reach.write", Argument: "path"}},
	}, writeContent)
}

// patchFile declares patch_file. Its diagnoses quote the file, so its output
// is as little trusted as that of read_file.
func patchFile() sallyport.Tool {
	return schema.MustTool(sallyport.Tool{
		Name: "patch_file", Title: "Patch file", Toolset: toolset,
		Description: "Replace one piece of text in a file. old_text must occur exactly once; when it does not, the answer says where it " +
			"occurs or what is nearest. Both texts are literal, and the rest of the file stays as it is.",
		Schema: args.Schema[patchInput](func(get func(string) args.Property) {
			get("path").Length(1, 0)
			get("old_text").Length(1, 0)
		}),
		Capabilities: writeCapabilities(), Touches: []sallyport.Touch{{Capability: "fs_reach.write", Argument: "path"}}, OutputIsUntrusted: true,
	}, new(patchMemory).patchFile)
}

func searchFilesTool() sallyport.Tool {
	return schema.MustTool(sallyport.Tool{
		Name: "search_files", Title: "Search files", Toolset: toolset,
		Description: "Find text in the files of a folder. Answers with path:line: text, sorted by path. Skips binary and hidden files, " +
			"what .gitignore lists, and folders such as node_modules.",
		Schema: args.Schema[searchInput](func(get func(string) args.Property) {
			get("pattern").Length(1, maxPatternBytes)
			get("glob").Length(0, maxGlobBytes)
			get("case_sensitive").Type("boolean")
			get("max_results").Between(0, maxMatches)
			get("context").Between(0, maxContext)
		}),
		Touches:      []sallyport.Touch{{Capability: "fs_reach.read", Argument: "path"}},
		Capabilities: readCapabilities(), MaxResultChars: searchChars, Timeout: walkTimeout, ReadOnly: true, OutputIsUntrusted: true,
	}, searchFiles)
}

func listFiles() sallyport.Tool {
	return schema.MustTool(sallyport.Tool{
		Name: "list_files", Title: "List files", Toolset: toolset,
		Description: "List the files and folders below a folder, sorted by path; a folder ends in /, a symbolic link in @. " +
			"Skips hidden files, what .gitignore lists, and folders such as node_modules.",
		Schema: args.Schema[listInput](func(get func(string) args.Property) {
			get("glob").Length(0, maxGlobBytes)
			get("depth").Between(0, maxDepth)
			get("max_results").Between(0, maxListed)
		}),
		Touches:      []sallyport.Touch{{Capability: "fs_reach.read", Argument: "path"}},
		Capabilities: readCapabilities(), MaxResultChars: listChars, Timeout: walkTimeout, ReadOnly: true, OutputIsUntrusted: true,
	}, listBelow)
}
