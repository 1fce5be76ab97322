@NullMarked
package io.pipelane.server.jobs;

import org.jspecify.annotations.NullMarked;
