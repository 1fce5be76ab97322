/** The command line: what starts a server, and what asks a running one. */
@NullMarked
package io.pipelane.server.cli;

import org.jspecify.annotations.NullMarked;
