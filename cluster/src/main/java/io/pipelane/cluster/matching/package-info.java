/** Which of two sides go together. */
@NullMarked
package io.pipelane.cluster.matching;

import org.jspecify.annotations.NullMarked;
