@NullMarked
package io.pipelane.switcher.jobs;

import org.jspecify.annotations.NullMarked;
