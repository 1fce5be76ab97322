package io.pipelane.lanes.process.channel;

import io.pipelane.lanes.DeviceExport;
import io.pipelane.lanes.cpu.CpuExport;
import io.pipelane.lanes.cuda.CudaExport;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * The arguments that a worker process is started with.
 *
 * @param area the descriptor of its area in the server
 * @param lanes channels to run in: the first ones
 * @param controls channels to build and close sessions through, behind them
 * @param threadsPerRun threads of one run, its lane's own included
 */
public record WorkerArguments(
    DeviceExport export, int area, int lanes, int controls, int threadsPerRun, Path library) {

  public int channels() {
    return lanes + controls;
  }

  public List<String> toList() {
    List<String> words = new ArrayList<>();
    words.add(Integer.toString(area));
    words.add(Integer.toString(lanes));
    words.add(Integer.toString(controls));
    words.add(Integer.toString(threadsPerRun));
    words.add(library.toAbsolutePath().toString());
    words.add(export.kind());
    words.addAll(export.toList());
    return words;
  }

  public static WorkerArguments of(String... arguments) {
    List<String> words = List.of(arguments);
    List<String> device = words.subList(6, words.size());
    DeviceExport export =
        switch (words.get(5)) {
          case CpuExport.KIND -> CpuExport.of(device);
          case CudaExport.KIND -> CudaExport.of(device);
          default -> throw new ProtocolException("the server has a device " + words.get(5));
        };
    return new WorkerArguments(
        export,
        Integer.parseInt(words.get(0)),
        Integer.parseInt(words.get(1)),
        Integer.parseInt(words.get(2)),
        Integer.parseInt(words.get(3)),
        Path.of(words.get(4)));
  }
}
