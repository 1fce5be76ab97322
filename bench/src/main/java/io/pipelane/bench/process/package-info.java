/** Servers in processes of their own, so that their CPU time can be told from the client's. */
@NullMarked
package io.pipelane.bench.process;

import org.jspecify.annotations.NullMarked;
