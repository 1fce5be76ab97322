package io.pipelane.server.catalog;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.modelstore.repository.TritonConfig;
import io.pipelane.protocol.grpc.ModelConfig;
import io.pipelane.protocol.grpc.ModelInstanceGroup;
import java.util.List;
import org.junit.jupiter.api.Test;

class IgnoredKeysTest {
  private static List<String> notes(ModelConfig message, String... ignored) {
    return IgnoredKeys.notes(new TritonConfig(true, message, List.of(ignored)));
  }

  @Test
  void notes_ofInstances_sayWhatIsInTheirPlace() {
    ModelConfig two =
        ModelConfig.newBuilder()
            .addInstanceGroup(ModelInstanceGroup.newBuilder().setCount(2).addGpus(0).addGpus(1))
            .addInstanceGroup(ModelInstanceGroup.getDefaultInstance())
            .build();
    List<String> notes = notes(two, "instance_group", "optimization");
    assertEquals(2, notes.size(), notes.toString());
    assertTrue(notes.getFirst().contains("asks for 5 instances"), notes.toString());
    assertTrue(notes.getFirst().contains("device.lanes"), notes.toString());
    assertEquals("of its config.pbtxt, [optimization] have no effect here", notes.get(1));
  }

  @Test
  void notes_whereAllIsHeeded_areNone() {
    assertEquals(List.of(), notes(ModelConfig.getDefaultInstance()));
  }
}
