package io.pipelane.modelstore.importing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import io.pipelane.runtime.ExecutionProvider;
import io.pipelane.runtime.graph.GraphTarget;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;

class ImportTargetTest {
  private static final ImportTarget H200 = ImportTarget.cuda(1, true, "NVIDIA H200 sm_90");

  @Test
  void arguments_ofTheProcess_bringTheTargetAcross() {
    assertEquals(ImportTarget.processor(), across(ImportTarget.processor()));
    assertEquals(H200, across(H200));
    ImportTarget exact = ImportTarget.cuda(0, false, true, "NVIDIA H100 sm_90");
    assertEquals(exact, across(exact));
  }

  @Test
  void key_tellsDevicesAndRoundingApart_butNotIndices() {
    assertNotEquals(ImportTarget.processor().key(), H200.key());
    assertNotEquals(ImportTarget.cuda(1, false, H200.deviceIdentity()).key(), H200.key());
    assertNotEquals(ImportTarget.cuda(1, true, "NVIDIA A100 sm_80").key(), H200.key());
    assertNotEquals(ImportTarget.cuda(1, true, false, H200.deviceIdentity()).key(), H200.key());
    assertEquals(ImportTarget.cuda(0, true, H200.deviceIdentity()).key(), H200.key());
  }

  @Test
  void tolerance_isWiderWhereKernelsAddInOtherOrders() {
    assertEquals(1e-5, ImportTarget.processor().tolerance());
    assertEquals(1e-3, H200.tolerance());
    assertEquals(GraphTarget.GPU, H200.graph());
    assertEquals(new ExecutionProvider.Cuda(1, 0, false, true), H200.exact(true));
  }

  private static ImportTarget across(ImportTarget target) {
    ImportSettings settings =
        ImportSettings.defaults(Path.of("libonnxruntime.so"), "1.28.0").withTarget(target);
    List<String> arguments =
        ImportMain.arguments(Path.of("model.onnx"), Path.of("folder"), settings);
    return ImportMain.target(arguments.get(6), arguments.get(7));
  }
}
