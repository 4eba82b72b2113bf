// Package importer takes over what other programs have configured: the MCP
// servers of a client, and the operations of an OpenAPI document.
package importer
