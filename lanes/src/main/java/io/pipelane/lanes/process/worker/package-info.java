/** The worker process: builds and runs sessions on memory that another process keeps. */
@NullMarked
package io.pipelane.lanes.process.worker;

import org.jspecify.annotations.NullMarked;
