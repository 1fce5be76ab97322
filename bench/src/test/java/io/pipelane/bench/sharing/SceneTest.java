package io.pipelane.bench.sharing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class SceneTest {
  @Test
  void ways_areMeasuredWithEveryShareTheyHave() {
    List<String> names =
        Scene.of(List.of(Way.GATES, Way.SHARES, Way.ALONE, Way.GATES), List.of(10, 50)).stream()
            .map(Scene::toString)
            .toList();
    assertEquals(List.of("alone", "gates", "shares 10 %", "shares 50 %"), names);
    assertEquals("gates-shares 20 %", new Scene(Way.GATES_SHARES, 20).toString());
  }

  @Test
  void mps_saysWhatIsMissing() {
    assertTrue(
        MpsServer.obstacle(Map.of()).orElseThrow().startsWith("CUDA_MPS_PIPE_DIRECTORY is not"));
    assertEquals(
        "there is no nvidia-cuda-mps-control on this host",
        MpsServer.obstacle(Map.of("CUDA_MPS_PIPE_DIRECTORY", "/nowhere", "PATH", "/nowhere"))
            .orElseThrow());
  }
}
