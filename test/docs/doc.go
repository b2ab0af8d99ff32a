// Package docs follows the documentation as a reader does: every command of README.md, CONTRIBUTING.md and docs/ is executed by `make docs`, those of a page
// from top to bottom in one shell, in a copy of the repository and a network of its own.
//
// A block with sh is executed; one with console is not, and tables_test.go says why. A block of another language whose first line is a comment with the name
// of a file, as in "# prometheus.yml", is written into that file. Daemons are recognised by tables_test.go, started, and waited for. What a page takes for
// granted, such as a server on port 8000, is there, too. Targets of the Makefile that take longer are only checked to exist.
package docs
