package io.pipelane.server.grpc;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.protobuf.ByteString;
import io.grpc.ManagedChannel;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.protobuf.ProtoUtils;
import io.pipelane.protocol.grpc.GRPCInferenceServiceGrpc;
import io.pipelane.protocol.grpc.GRPCInferenceServiceGrpc.GRPCInferenceServiceBlockingStub;
import io.pipelane.protocol.grpc.ModelInferRequest;
import io.pipelane.protocol.grpc.ModelInferResponse;
import io.pipelane.server.http.EchoService;
import io.pipelane.server.memory.HeapRoom;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.SequenceInputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.SocketException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Messages that come in pieces, wherever they are cut. */
@Timeout(60)
class GrpcSplitTest {
  private static final ModelInferRequest REQUEST =
      Inferences.raw("echo", 1, 2, 3, 4).toBuilder().setId("some id").build();

  @Test
  void parse_splitAtEveryByte_isTheSameMessage() {
    IncomingMarshaller marshaller =
        new IncomingMarshaller(
            ProtoUtils.marshaller(ModelInferRequest.getDefaultInstance()), HeapRoom.OF_REQUESTS);
    byte[] whole = REQUEST.toByteArray();
    for (int cut = 0; cut <= whole.length; cut++) {
      InputStream pieces =
          new SequenceInputStream(
              new ByteArrayInputStream(whole, 0, cut),
              new ByteArrayInputStream(whole, cut, whole.length - cut));
      assertEquals(REQUEST, marshaller.parse(pieces).parse(), "cut at " + cut);
    }
  }

  @Test
  void infer_everyByteComesAlone_givesTheSameAnswer() throws Exception {
    try (GrpcConversation conversation = new GrpcConversation(EchoService.inline());
        ServerSocket proxy = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      threads.execute(() -> forward(proxy, conversation.server.address(), threads));
      ManagedChannel channel =
          NettyChannelBuilder.forAddress(proxy.getLocalSocketAddress()).usePlaintext().build();
      try {
        GRPCInferenceServiceBlockingStub client =
            GRPCInferenceServiceGrpc.newBlockingStub(channel)
                .withDeadlineAfter(30, TimeUnit.SECONDS);
        ModelInferResponse whole = conversation.client().modelInfer(REQUEST);
        assertEquals(whole, client.modelInfer(REQUEST));
        ModelInferRequest wrong =
            REQUEST.toBuilder().setRawInputContents(0, ByteString.copyFromUtf8("short")).build();
        assertEquals(
            message(() -> conversation.client().modelInfer(wrong)),
            message(() -> client.modelInfer(wrong)));
      } finally {
        channel.shutdownNow();
      }
    }
  }

  private static String message(Runnable call) {
    try {
      call.run();
      return "no error";
    } catch (StatusRuntimeException e) {
      return String.valueOf(e.getMessage());
    }
  }

  private static void forward(ServerSocket proxy, SocketAddress server, ExecutorService threads) {
    try (Socket client = proxy.accept();
        Socket onward = new Socket()) {
      onward.connect(server);
      onward.setTcpNoDelay(true);
      client.setTcpNoDelay(true);
      threads.execute(() -> copyByByte(onward, client));
      copyByByte(client, onward);
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Until either end is closed. */
  private static void copyByByte(Socket from, Socket to) {
    try {
      InputStream in = from.getInputStream();
      OutputStream out = to.getOutputStream();
      for (int next = in.read(); next >= 0; next = in.read()) {
        out.write(next);
      }
    } catch (SocketException e) {
      // The other direction has ended.
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }
}
