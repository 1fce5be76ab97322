/** The memory that requests and answers may take together, in Java's heap and outside it. */
@NullMarked
package io.pipelane.server.memory;

import org.jspecify.annotations.NullMarked;
