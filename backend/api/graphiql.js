const root = document.getElementById('graphiql')
ReactDOM.createRoot(root).render(React.createElement(GraphiQL, {
  fetcher: GraphiQL.createFetcher({ url: location.pathname }),
  defaultHeaders: root.dataset.headers,
  isHeadersEditorEnabled: true,
  defaultQuery: '{\n  viewer {\n    __typename\n    ... on Tenant { tenantAlias isLiveMode }\n    ... on User { id firstName referralCode }\n  }\n}\n',
}))
