// A plugin with one tool, count_lines, in C without a library. Build it with
//
//	clang --target=wasm32 -O2 -nostdlib -Wl,--no-entry -Wl,--strip-all -o count.wasm count.c
//
// and see docs/guides/plugins.md for what a module and its host say to each other.

#define import(name) __attribute__((import_module("sallyport"), import_name(name)))
#define export(name) __attribute__((export_name(name)))

import("read") unsigned host_read(void *to, unsigned length);
import("answer") void host_answer(const void *from, unsigned length);
import("fs_read") unsigned host_read_file(const void *message, unsigned length);

static const char tools[] =
	"[{\"id\": \"count_lines\", \"description\": \"Count the lines of notes.txt\", \"readOnly\": true,"
	" \"capabilities\": {\"fs_reach\": {\"read\": \"from-personality\"}}}]";

export("sallyport_tools") void list_tools(void) { host_answer(tools, sizeof tools - 1); }

static char part[4096];

export("sallyport_call") void call_tool(void) {
	static const char file[] = "{\"name\": \"notes.txt\"}\n";
	if (host_read_file(file, sizeof file - 1) == 0) return;
	unsigned lines = 0, refused = 0, head = 1, length;
	while ((length = host_read(part, sizeof part)) > 0) {
		for (unsigned i = 0; i < length; i++) {
			if (head && i < 8 && part[i] == 'e') refused = 1; // {"error": …
			if (!head && part[i] == '\n') lines++;
			if (part[i] == '\n') head = 0; // the content begins behind the head
		}
	}
	if (refused) {
		static const char failed[] = "{\"ok\": false, \"error\": \"notes.txt cannot be read\"}";
		host_answer(failed, sizeof failed - 1);
		return;
	}
	static char answer[] = "{\"ok\": true, \"structured\": {\"lines\":           0}}";
	for (unsigned at = sizeof answer - 4; lines > 0 && at > 37; at--, lines /= 10) answer[at] = '0' + lines % 10;
	host_answer(answer, sizeof answer - 1);
}
