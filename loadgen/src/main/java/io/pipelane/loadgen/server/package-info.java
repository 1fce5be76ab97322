/** The server under test, as it describes itself and its models. */
@NullMarked
package io.pipelane.loadgen.server;

import org.jspecify.annotations.NullMarked;
