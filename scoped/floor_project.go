package scoped

// projectRow is a file or folder of a project that makes a program run
// commands.
type projectRow struct{ path, source string }

// projectGroup are rows with one reason.
type projectGroup struct {
	reason string
	rows   []projectRow
}

// projectTable is the configuration of agents, editors, package managers and
// build tools that runs commands where a person opens, enters, installs or
// builds a project. Tools and children do not write it; what a child writes to
// it in an overlay waits for a person.
var projectTable = [...]projectGroup{
	{"an editor's configuration runs commands", []projectRow{
		{"**/.vscode", "https://code.visualstudio.com/docs/editing/workspaces/workspace-trust; CVE-2025-53773"},
		{"**/.idea", "https://www.jetbrains.com/help/idea/project-security.html"},
		{"**/.run", "https://www.jetbrains.com/help/idea/run-debug-configuration.html"},
		{"**/.fleet", "https://www.jetbrains.com/help/fleet/run-configurations.html"},
		{"**/.zed", "https://zed.dev/docs/tasks"},
		{"**/.theia", "https://theia-ide.org/docs/tasks"},
		{"**/.vs", "https://learn.microsoft.com/visualstudio/ide/customize-build-and-debug-tasks-in-visual-studio"},
		{"**/.nova", "https://docs.nova.app/extensions/run-configurations"},
		{"**/.helix", "https://docs.helix-editor.com/languages.html"},
		{"**/.exrc", "vim(1), 'exrc'"},
		{"**/.vimrc", "vim(1), 'exrc'"},
		{"**/_vimrc", "vim(1), 'exrc'"},
		{"**/.gvimrc", "vim(1), 'exrc'"},
		{"**/.nvimrc", "nvim(1), 'exrc'"},
		{"**/.nvim.lua", "nvim(1), 'exrc'"},
		{"**/.lvimrc", "https://github.com/embear/vim-localvimrc"},
		{"**/.vim", "https://github.com/neoclide/coc.nvim: .vim/coc-settings.json"},
		{"**/.dir-locals.el", "GNU Emacs manual, Directory Variables; CVE-2012-3479"},
		{"**/.dir-locals-2.el", "GNU Emacs manual, Directory Variables"},
		{"**/.devcontainer", "https://containers.dev/implementors/json_reference: initializeCommand"},
		{"**/.devcontainer.json", "https://containers.dev/implementors/spec"},
	}},
}
