@NullMarked
package io.pipelane.loadgen.zoo;

import org.jspecify.annotations.NullMarked;
