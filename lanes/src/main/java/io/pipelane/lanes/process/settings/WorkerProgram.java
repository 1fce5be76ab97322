package io.pipelane.lanes.process.settings;

import io.pipelane.config.value.ByteSize;
import java.nio.file.Path;

/**
 * The program of a worker process, and the way to start it.
 *
 * @param main its main class
 * @param library ONNX Runtime's
 * @param threadsPerRun threads of one run, its lane's own included
 * @param heap its Java heap
 * @param launcher starts it
 */
public record WorkerProgram(
    Class<?> main, Path library, int threadsPerRun, ByteSize heap, Launcher launcher) {}
