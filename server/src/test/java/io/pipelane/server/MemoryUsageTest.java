package io.pipelane.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.ManagedChannel;
import io.grpc.netty.NettyChannelBuilder;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.protocol.grpc.GRPCInferenceServiceGrpc;
import io.pipelane.protocol.grpc.MemoryUsage;
import io.pipelane.protocol.grpc.ModelStatisticsRequest;
import io.pipelane.switcher.MemoryOverview;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What statistics say of a model's memory while its weights come and go. */
@Timeout(value = 600, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class MemoryUsageTest {
  @TempDir private Path folder = Path.of("");

  MemoryUsageTest() {}

  private static List<MemoryUsage> overGrpc(PipelaneServer server) {
    ManagedChannel channel =
        NettyChannelBuilder.forTarget(server.grpcAddress().orElseThrow()).usePlaintext().build();
    try {
      return GRPCInferenceServiceGrpc.newBlockingStub(channel)
          .withDeadlineAfter(60, TimeUnit.SECONDS)
          .modelStatistics(ModelStatisticsRequest.newBuilder().setName("small").build())
          .getModelStats(0)
          .getMemoryUsageList();
    } finally {
      channel.shutdownNow();
    }
  }

  @Test
  void memoryUsage_isWhatTheDeviceHoldsOfTheWeights() throws Exception {
    try (OwnedRepository owned = new OwnedRepository(folder)) {
      owned.model("small", 1, 1);
      try (PipelaneServer server = owned.start(Map.of("server.grpc-port", "0"))) {
        String _ = owned.answer(server, "small");
        Map.Entry<String, MemoryOverview> device =
            server.devices().memory().entrySet().iterator().next();
        long resident = device.getValue().weights().entries().getFirst().residentBytes();
        assertTrue(resident > 0);
        String type = device.getKey().startsWith("cuda:") ? "GPU" : "CPU";
        assertTrue(
            owned
                .get(server, "models/small/stats")
                .body()
                .contains(
                    "\"memory_usage\":[{\"type\":\"%s\",\"id\":0,\"byte_size\":%d}]"
                        .formatted(type, resident)));
        assertEquals(
            List.of(MemoryUsage.newBuilder().setType(type).setId(0).setByteSize(resident).build()),
            overGrpc(server));

        server.devices().evict(new ModelVersion("small", 1));
        assertTrue(owned.get(server, "models/small/stats").body().contains("\"memory_usage\":[]"));
        assertEquals(List.of(), overGrpc(server));
      }
    }
  }
}
