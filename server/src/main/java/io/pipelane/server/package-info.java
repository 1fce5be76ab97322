/** The front end: HTTP, the protocol, the model catalogue and the command line. */
@NullMarked
package io.pipelane.server;

import org.jspecify.annotations.NullMarked;
