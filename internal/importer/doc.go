// Package importer takes over what other programs have configured: the MCP
// servers of a client, and the operations of an OpenAPI document.
//
// Start with [PreviewServers], which shows what [WriteServers] would write.
// [RollBack] brings the servers of a client back, [ListClients] lists the
// clients, [NewConnection] adds this program to one, and [ImportDocument] makes
// actions of a document. The package knows no command line: an [Environment] says
// where it works and where it reports.
//
// It promises that a value which may be a secret is not shown, and copied nowhere but
// into the encrypted file of the configuration, that a configuration means the same as before but for the servers that were
// added, and that a copy of every changed file is kept. It does not decide what
// a server may touch: it proposes, with what package profiles knows of servers,
// and the user reads the preview.
//
// The files stand in this order, and none uses a name of a file before it:
// openapi; list; connect; rollback; preview, write, draft, extend, compare; ask; report, yaml; plan;
// registries; observe, watch; launch, container, profile, variables, headers,
// values, reach, known; client, server, names, environment.
package importer
