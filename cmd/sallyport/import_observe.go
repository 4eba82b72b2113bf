package main

import "context"

func (i *importer) observe(context.Context, *planned) {}
