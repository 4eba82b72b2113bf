// Command sallyport decides, confines and records the tool calls of agents:
// one binary that is the command line, the MCP server and the HTTP surface of
// the gate.
package main

import "github.com/sallyport/sallyport/program"

func main() { program.Main() }
