/** What the server under test says about itself and its models. */
@NullMarked
package io.pipelane.loadgen.server;

import org.jspecify.annotations.NullMarked;
